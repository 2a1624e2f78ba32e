*** Settings ***
Documentation       Statements of RFC 8040 and its companions, one case each, against a running controller. The pod of the cases is made
...                 anew before each of them.
Resource            ../resources/coeus.resource
Suite Setup         Start Lab And Session    0
Suite Teardown      Stop Lab
Test Setup          Fresh Pod

*** Variables ***
${DATA}             /rests/data
${UID}              00000000-0000-4000-8000-000000000001
${OTHER}            00000000-0000-4000-8000-000000000002
${POD}              ${DATA}/pod:coe/pods=${UID}
${BODY}             {"pod:pods":[{"uid":"${UID}","name":"web","network-NS":"blue"}]}
${OTHER BODY}       {"pod:pods":[{"uid":"${OTHER}","name":"db"}]}
${JSON}             application/yang-data+json
${XML}              application/yang-data+xml
${PATCH}            application/yang-patch+json

*** Test Cases ***
RFC 6415 3 Host-meta Leads To The Root
    ${answer}=    Exchange    GET    /.well-known/host-meta    200
    Should Contain    ${answer.text}    rel="restconf"
    Should Contain    ${answer.text}    href="/rests"

RFC 8040 2.5 Without Credentials Nothing Is Told
    Create Session    stranger    ${CONTROLLER}
    ${answer}=    GET On Session    stranger    ${POD}    expected_status=401
    Dictionary Should Contain Key    ${answer.headers}    WWW-Authenticate

RFC 8040 3.3 The Root Has Data Operations And The Version
    ${answer}=    Exchange    GET    /rests    200
    Should Contain    ${answer.text}    yang-library-version
    Should Contain    ${answer.text}    "operations"

RFC 8040 3.3.2 Operations Are Listed
    Exchange    GET    /rests/operations    200

RFC 8040 3.3.3 The Library Version Is A Revision
    ${answer}=    Exchange    GET    /rests/yang-library-version    200
    Should Match Regexp    ${answer.text}    20\\d\\d-\\d\\d-\\d\\d

RFC 8040 3.4 The Datastore Is A Resource
    ${answer}=    Exchange    GET    ${DATA}    200
    Should Contain    ${answer.text}    ietf-restconf:data

RFC 8040 3.5.2 A Change Moves The Entity-tag
    ${before}=    Exchange    GET    ${POD}    200
    Exchange    PATCH    ${POD}    204    {"pod:pods":[{"uid":"${UID}","name":"other"}]}
    ${after}=    Exchange    GET    ${POD}    200
    Should Not Be Equal    ${before.headers}[ETag]    ${after.headers}[ETag]

RFC 8040 3.5.3 Two Keys Are Separated By A Comma
    Exchange    PUT    ${DATA}/dhcp_allocation_pool:dhcp_allocation_pool/network\=a%2Cb/allocation-pool\=192.168.10.0%2F24    409
    ...    {"dhcp_allocation_pool:allocation-pool":[{"subnet":"192.168.10.0/24","allocate-from":"192.168.10.3","allocate-to":"192.168.10.9"}]}
    Exchange    POST    ${DATA}/dhcp_allocation_pool:dhcp_allocation_pool    201
    ...    {"dhcp_allocation_pool:network":[{"network-id":"a,b"}]}
    ${answer}=    Exchange    GET    ${DATA}/dhcp_allocation_pool:dhcp_allocation_pool/network\=a%2Cb    200
    Should Be Equal    ${answer.json()}[dhcp_allocation_pool:network][0][network-id]    a,b
    Exchange    DELETE    ${DATA}/dhcp_allocation_pool:dhcp_allocation_pool/network\=a%2Cb    204

RFC 8040 3.5.3 The Wrong Number Of Keys Is 400
    Exchange    GET    ${POD},x    400

RFC 8040 3.5.3 An Unknown Node Is 400
    Exchange    GET    ${DATA}/pod:coe/nothing    400

RFC 8040 4.1 OPTIONS Tells What Is Allowed
    ${answer}=    Exchange    OPTIONS    ${POD}    200
    Should Contain    ${answer.headers}[Allow]    PATCH
    Should Contain    ${answer.headers}[Accept-Patch]    ${PATCH}

RFC 8040 4.2 HEAD Has The Headers And No Body
    ${answer}=    Exchange    HEAD    ${POD}    200
    Should Be Empty    ${answer.text}
    Dictionary Should Contain Key    ${answer.headers}    ETag

RFC 8040 4.3 GET Of An Absent Resource Is 404
    Exchange    GET    ${DATA}/pod:coe/pods\=${OTHER}    404

RFC 8040 4.3 A List Without Keys Is Read As A Whole
    ${answer}=    Exchange    GET    ${DATA}/pod:coe/pods    200
    Length Should Be    ${answer.json()}[pod:pods]    1

RFC 8040 4.4.1 POST Creates And Names The New Resource
    ${answer}=    Exchange    POST    ${DATA}/pod:coe    201    ${OTHER BODY}
    Should End With    ${answer.headers}[Location]    /rests/data/pod:coe/pods=${OTHER}

RFC 8040 4.4.1 POST Of An Existing Resource Is 409
    ${answer}=    Exchange    POST    ${DATA}/pod:coe    409    ${BODY}
    Error Should Be    ${answer}    data-exists

RFC 8040 4.5 PUT Creates With 201
    Exchange    PUT    ${DATA}/pod:coe/pods\=${OTHER}    201    ${OTHER BODY}

RFC 8040 4.5 PUT Replaces With 204
    Exchange    PUT    ${POD}    204    {"pod:pods":[{"uid":"${UID}"}]}
    ${answer}=    Exchange    GET    ${POD}    200
    Dictionary Should Not Contain Key    ${answer.json()}[pod:pods][0]    name

RFC 8040 4.5 The Body's Key Must Be The URI's
    Exchange    PUT    ${POD}    400    ${OTHER BODY}

RFC 8040 4.6.1 Plain PATCH Merges
    Exchange    PATCH    ${POD}    204    {"pod:pods":[{"uid":"${UID}","host-ip-address":"192.0.2.7"}]}
    ${answer}=    Exchange    GET    ${POD}    200
    Should Be Equal    ${answer.json()}[pod:pods][0][name]    web

RFC 8040 4.6.1 Plain PATCH Creates Nothing
    Exchange    PATCH    ${DATA}/pod:coe/pods\=${OTHER}    404    ${OTHER BODY}

RFC 8040 4.7 DELETE Is 204 And Then 404
    Exchange    DELETE    ${POD}    204
    Exchange    DELETE    ${POD}    404

RFC 7950 7.5.1 An Empty Container Is There And Is Not Created
    ${answer}=    Exchange    POST    ${DATA}    409    {"dhcp_allocation_pool:dhcp_allocation_pool":{}}
    Should Contain    ${answer.text}    data-exists
    Exchange    PUT    ${DATA}/dhcp_allocation_pool:dhcp_allocation_pool    204    {"dhcp_allocation_pool:dhcp_allocation_pool":{}}
    Exchange    GET    ${DATA}/dhcp_allocation_pool:dhcp_allocation_pool    404

RFC 8040 4.8 An Unknown Query Parameter Is 400
    Exchange    GET    ${POD}?nothing\=1    400

RFC 8040 4.8 A Query Parameter Given Twice Is 400
    Exchange    GET    ${POD}?depth\=1&depth\=2    400

RFC 8040 4.8.1 Content Chooses Configuration Or State
    ${answer}=    Exchange    GET    ${DATA}/coeus-status:objects?content\=nonconfig    200
    Should Contain    ${answer.text}    "pod-name":"web"
    Exchange    GET    ${DATA}/coeus-status:objects?content\=config    404
    Exchange    GET    ${POD}?content\=some    400

RFC 8040 4.8.2 Depth Limits The Levels
    ${answer}=    Exchange    GET    ${DATA}/pod:coe?depth\=1    200
    Should Not Contain    ${answer.text}    web
    Exchange    GET    ${DATA}/pod:coe?depth\=0    400

RFC 8040 4.8.3 Fields Selects
    ${answer}=    Exchange    GET    ${POD}?fields\=name    200
    Dictionary Should Not Contain Key    ${answer.json()}[pod:pods][0]    network-NS
    Exchange    GET    ${POD}?fields\=nothing    400

RFC 8040 4.8.5 Insert Is For Lists That The User Orders
    Exchange    POST    ${DATA}/pod:coe?insert\=first    400    ${OTHER BODY}

RFC 8040 4.8.9 With-defaults Is Understood
    Exchange    GET    ${POD}?with-defaults\=report-all    200
    Exchange    GET    ${POD}?with-defaults\=nothing    400

RFC 8040 5.2 XML Goes In And Comes Out
    ${body}=    Set Variable
    ...    <pods xmlns="urn:opendaylight:coe:northbound:pod"><uid>${OTHER}</uid><name>xml</name></pods>
    Exchange    PUT    ${DATA}/pod:coe/pods\=${OTHER}    201    ${body}    Content-Type=${XML}
    ${answer}=    Exchange    GET    ${DATA}/pod:coe/pods\=${OTHER}    200    Accept=${XML}
    Should Contain    ${answer.text}    <name>xml</name>
    Should Start With    ${answer.headers}[Content-Type]    ${XML}

RFC 8040 5.2 Another Type Is 415
    Exchange    PUT    ${POD}    415    ${BODY}    Content-Type=text/plain

RFC 8040 5.2 An Answer That Nobody Can Give Is 406
    Exchange    GET    ${POD}    406    Accept=image/png

RFC 8040 5.5 Answers Are Not To Be Cached Without Asking
    ${answer}=    Exchange    GET    ${POD}    200
    Should Contain    ${answer.headers}[Cache-Control]    no-cache

RFC 8040 7.1 Errors Have Type Tag Path And Message
    ${answer}=    Exchange    PUT    ${POD}    400    {"pod:pods":[{"uid":"${UID}","wrong":1}]}
    ${error}=    Set Variable    ${answer.json()}[ietf-restconf:errors][error][0]
    FOR    ${part}    IN    error-type    error-tag    error-message
        Dictionary Should Contain Key    ${error}    ${part}
    END

RFC 8040 7 A Method That Is Not Allowed Is 405
    ${answer}=    Exchange    DELETE    ${DATA}    405
    Dictionary Should Contain Key    ${answer.headers}    Allow

RFC 8040 8 State Data Cannot Be Written
    Exchange    PUT    ${DATA}/coeus-status:objects    405    {"coeus-status:objects":{}}

RFC 9110 13.1.1 If-Match Writes Only Over What Was Read
    ${answer}=    Exchange    GET    ${POD}    200
    ${tag}=    Set Variable    ${answer.headers}[ETag]
    Exchange    PUT    ${POD}    204    {"pod:pods":[{"uid":"${UID}","name":"new"}]}    If-Match=${tag}
    ${answer}=    Exchange    PUT    ${POD}    412    ${BODY}    If-Match=${tag}

RFC 9110 13.1.2 If-None-Match Creates And Never Replaces
    Exchange    PUT    ${POD}    412    ${BODY}    If-None-Match=*

RFC 9110 13.1.2 An Unchanged Resource Is 304
    ${answer}=    Exchange    GET    ${POD}    200
    Exchange    GET    ${POD}    304    If-None-Match=${answer.headers}[ETag]

RFC 8072 2.2 A YANG Patch Is Atomic
    ${edits}=    Set Variable
    ...    {"edit-id":"1","operation":"merge","target":"/pods=${UID}","value":{"pod:pods":[{"uid":"${UID}","name":"changed"}]}},{"edit-id":"2","operation":"create","target":"/pods=${UID}","value":${BODY}}
    ${answer}=    Exchange    PATCH    ${DATA}/pod:coe    409
    ...    {"ietf-yang-patch:yang-patch":{"patch-id":"p","edit":[${edits}]}}    Content-Type=${PATCH}
    Should Contain    ${answer.text}    "edit-id":"2"
    ${answer}=    Exchange    GET    ${POD}    200
    Should Be Equal    ${answer.json()}[pod:pods][0][name]    web

RFC 8072 2.3 A YANG Patch Answers With Its Status
    ${edit}=    Set Variable    {"edit-id":"1","operation":"remove","target":"/pods=${UID}"}
    ${answer}=    Exchange    PATCH    ${DATA}/pod:coe    200
    ...    {"ietf-yang-patch:yang-patch":{"patch-id":"p","edit":[${edit}]}}    Content-Type=${PATCH}
    Should Contain    ${answer.text}    yang-patch-status
    Exchange    GET    ${POD}    404

RFC 8527 3.1 Each Datastore Is A Resource
    Exchange    GET    /rests/ds/ietf-datastores:running/pod:coe    200
    Exchange    GET    /rests/ds/ietf-datastores:operational/coeus-status:objects    200
    Exchange    PUT    /rests/ds/ietf-datastores:operational/pod:coe    405    {"pod:coe":{}}

RFC 8527 3.1 The Candidate Gathers Edits Until They Are Committed
    ${candidate}=    Set Variable    /rests/ds/ietf-datastores:candidate/pod:coe
    Exchange    PUT    ${candidate}/pods\=${OTHER}    201    ${OTHER BODY}
    Exchange    DELETE    ${candidate}/pods\=${UID}    204
    Exchange    GET    ${POD}    200
    Exchange    GET    ${DATA}/pod:coe/pods\=${OTHER}    404
    ${diff}=    Exchange    POST    /rests/operations/coeus-history:diff-candidate    200
    Should Be Equal As Integers    ${diff.json()}[coeus-history:output][edits]    2
    Exchange    POST    /rests/operations/coeus-history:validate-candidate    204
    Exchange    POST    /rests/operations/coeus-history:commit-candidate    200
    Exchange    GET    ${POD}    404
    Exchange    GET    ${DATA}/pod:coe/pods\=${OTHER}    200

RFC 8342 5.1.2 A Discarded Candidate Changes Nothing
    Exchange    DELETE    /rests/ds/ietf-datastores:candidate/pod:coe/pods\=${UID}    204
    Exchange    POST    /rests/operations/coeus-history:discard-candidate    200
    Exchange    GET    /rests/ds/ietf-datastores:candidate/pod:coe/pods\=${UID}    200
    Exchange    POST    /rests/operations/coeus-history:commit-candidate    404
    Exchange    GET    ${POD}    200

RFC 8342 5.1.2 What Others Commit Meanwhile Is Not Overwritten
    ${named}=    Set Variable    {"pod:pods":[{"uid":"${UID}","name":"mine"}]}
    Exchange    PATCH    /rests/ds/ietf-datastores:candidate/pod:coe/pods\=${UID}    204    ${named}
    Exchange    PATCH    ${POD}    204    {"pod:pods":[{"uid":"${UID}","name":"theirs"}]}
    ${refused}=    Exchange    POST    /rests/operations/coeus-history:commit-candidate    409
    Error Should Be    ${refused}    in-use
    Exchange    POST    /rests/operations/coeus-history:update-candidate    200
    ...    {"coeus-history:input":{"resolution-mode":"overwrite"}}
    ${pod}=    Exchange    GET    /rests/ds/ietf-datastores:candidate/pod:coe/pods\=${UID}    200
    Should Contain    ${pod.text}    theirs
    [Teardown]    Exchange    POST    /rests/operations/coeus-history:discard-candidate    200

RFC 7950 6.4.1 A Condition Chooses Entries
    [Documentation]    draft-ietf-netconf-list-pagination section 3.1.1
    Exchange    POST    ${DATA}/pod:coe    201    ${OTHER BODY}
    ${answer}=    Exchange    GET    ${DATA}/pod:coe/pods?where\=name\='db'    200
    Length Should Be    ${answer.json()}[pod:pods]    1
    Should Be Equal    ${answer.json()}[pod:pods][0][uid]    ${OTHER}
    ${answer}=    Exchange    GET    ${DATA}/pod:coe/pods?where\=name\='nobody'    200
    Should Be Empty    ${answer.json()}[pod:pods]
    ${answer}=    Exchange    GET    ${DATA}/pod:coe/pods?where\=nothing    400
    Error Should Be    ${answer}    invalid-value

List Pagination 3.1.7 A Page Says What Is Behind It
    Exchange    POST    ${DATA}/pod:coe    201    ${OTHER BODY}
    ${answer}=    Exchange    GET    ${DATA}/pod:coe/pods?limit\=1&sort-by\=name    200
    Should Be Equal    ${answer.json()}[pod:pods][0][name]    db
    Should Be Equal As Integers    ${answer.json()}[pod:pods][0][@][ietf-list-pagination:remaining]    1
    Should Contain    ${answer.headers}[Link]    rel="next"
    Exchange    GET    ${DATA}/pod:coe/pods?offset\=3    416
    Exchange    GET    ${DATA}/pod:coe/pods?cursor\=${UID}x    404

List Pagination RC 2.2 A List Is One XML Document
    Exchange    POST    ${DATA}/pod:coe    201    ${OTHER BODY}
    Exchange    GET    ${DATA}/pod:coe/pods    400    Accept=${XML}
    ${answer}=    Exchange    GET    ${DATA}/pod:coe/pods    200    Accept=${XML}-list
    Should Start With    ${answer.text}    <xml-list

RFC 7951 4 Names Of Other Modules Are Qualified
    Exchange    PUT    ${POD}    400    {"pods":[{"uid":"${UID}"}]}

RFC 7950 9 Values Are Checked
    Exchange    PATCH    ${POD}    400    {"pod:pods":[{"uid":"${UID}","host-ip-address":"999.1.1.1"}]}

*** Keywords ***
Fresh Pod
    DELETE On Session    coeus    ${DATA}/pod:coe    expected_status=any
    Exchange    PUT    ${POD}    201    ${BODY}

Exchange
    [Documentation]    One request and its status; named arguments are headers.
    [Arguments]    ${method}    ${path}    ${status}    ${body}=${EMPTY}    &{headers}
    ${has body}=    Evaluate    len($body) > 0
    IF    ${has body} and "Content-Type" not in $headers
        Set To Dictionary    ${headers}    Content-Type=${JSON}
    END
    ${answer}=    Run Keyword    ${method} On Session    coeus    ${path}    data=${body}    headers=${headers}    expected_status=${status}
    RETURN    ${answer}

Error Should Be
    [Arguments]    ${answer}    ${tag}
    Should Be Equal    ${answer.json()}[ietf-restconf:errors][error][0][error-tag]    ${tag}
