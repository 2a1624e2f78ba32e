*** Settings ***
Documentation       Statements about events, one case each, against a running controller: RFC 8040 streams, subscriptions on change
...                 (RFC 8639, 8641), changes of any data as server-sent events.
Resource            ../resources/coeus.resource
Library             Events
Suite Setup         Start Lab And Session    0
Suite Teardown      Stop Lab
Test Setup          Fresh Pod
Test Teardown       Close Readers

*** Variables ***
${DATA}             /rests/data
${UID}              00000000-0000-4000-8000-000000000001
${OTHER}            00000000-0000-4000-8000-000000000002
${POD}              ${DATA}/pod:coe/pods=${UID}
${BODY}             {"pod:pods":[{"uid":"${UID}","name":"web","network-NS":"blue"}]}
${JSON}             application/yang-data+json

*** Test Cases ***
RFC 8040 9.3 The Streams Are Listed With Their Locations
    ${streams}=    GET On Session    coeus    ${DATA}/ietf-restconf-monitoring:restconf-state/streams    expected_status=200
    Should Contain    ${streams.text}    /streams/NETCONF-JSON
    Should Contain    ${streams.text}    replay-log-creation-time

RFC 8040 6.3 A Stream Tells Of Each Commit
    ${reader}=    Open Events    /streams/NETCONF-JSON
    Rename    told
    ${event}=    Next Event    ${reader}    netconf-config-change
    Should Contain    ${event}[data]    ${UID}

RFC 8040 6.4 An Event Is A Notification With Its Time
    ${reader}=    Open Events    /streams/NETCONF-JSON
    Rename    timed
    ${event}=    Next Event    ${reader}    netconf-config-change
    Should Contain    ${event}[data]    "ietf-restconf:notification"
    Should Contain    ${event}[data]    "eventTime"

RFC 8040 4.8.7 Start-time Replays
    ${since}=    Evaluate    time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 60))    modules=time
    Rename    replayed
    ${reader}=    Open Events    /streams/NETCONF-JSON?start-time=${since}
    ${event}=    Next Event    ${reader}    netconf-config-change
    Should Contain    ${event}[data]    /pod:coe

RFC 8040 4.8.8 Stop-time Without Start-time Is Refused
    GET On Session    coeus    /streams/NETCONF-JSON?stop-time\=2030-01-01T00:00:00Z    expected_status=400

RFC 8040 4.8.4 A Filter That Fits Nothing Lets Nothing Through
    ${reader}=    Open Events    /streams/NETCONF-JSON?filter=/coeus-events:switch-state-changed
    ${all}=    Open Events    /streams/NETCONF-JSON
    Rename    filtered
    Next Event    ${all}    netconf-config-change
    Nothing Should Have Come    ${reader}

RFC 8641 3.1 Data And Then Each Change Of Them
    ${reader}=    Open Events    ${POD}
    ${first}=    Next Event    ${reader}    push-update
    Should Contain    ${first}[data]    web
    Rename    changed
    ${second}=    Next Event    ${reader}    push-change-update
    Should Contain    ${second}[data]    changed
    Should Contain    ${second}[data]    yang-patch

W3C SSE 9.2 A Reader Goes On Where He Was
    ${reader}=    Open Events    ${POD}
    ${first}=    Next Event    ${reader}    push-update
    Close Readers
    Rename    missed
    ${again}=    Open Events    ${POD}    ${first}[id]
    ${event}=    Next Event    ${again}    push-change-update
    Should Contain    ${event}[data]    missed

RFC 8641 4.2 What Is Elsewhere Is Not Told
    ${reader}=    Open Events    ${POD}
    Next Event    ${reader}    push-update
    PUT On Session    coeus    ${DATA}/pod:coe/pods\=${OTHER}    data={"pod:pods":[{"uid":"${OTHER}","name":"db"}]}
    ...    headers=${{ {"Content-Type": "${JSON}"} }}    expected_status=201
    Rename    mine
    ${event}=    Next Event    ${reader}    push-change-update
    Should Not Contain    ${event}[data]    ${OTHER}
    Should Contain    ${event}[data]    mine

RFC 8639 2.4 A Subscription Is Established And Deleted
    ${input}=    Set Variable
    ...    {"ietf-subscribed-notifications:input":{"ietf-yang-push:datastore":"ietf-datastores:running","ietf-yang-push:datastore-xpath-filter":"/pod:coe","ietf-yang-push:on-change":{}}}
    ${answer}=    POST On Session    coeus    /rests/operations/ietf-subscribed-notifications:establish-subscription
    ...    data=${input}    headers=${{ {"Content-Type": "${JSON}"} }}    expected_status=200
    ${id}=    Set Variable    ${answer.json()}[ietf-subscribed-notifications:output][id]
    ${input}=    Set Variable    {"ietf-subscribed-notifications:input":{"id":${id}}}
    POST On Session    coeus    /rests/operations/ietf-subscribed-notifications:delete-subscription
    ...    data=${input}    headers=${{ {"Content-Type": "${JSON}"} }}    expected_status=204

*** Keywords ***
Fresh Pod
    DELETE On Session    coeus    ${DATA}/pod:coe    expected_status=any
    PUT On Session    coeus    ${POD}    data=${BODY}    headers=${{ {"Content-Type": "${JSON}"} }}    expected_status=201

Rename
    [Arguments]    ${name}
    PATCH On Session    coeus    ${POD}    data={"pod:pods":[{"uid":"${UID}","name":"${name}"}]}
    ...    headers=${{ {"Content-Type": "${JSON}"} }}    expected_status=204

Open Events
    [Arguments]    ${path}    ${last}=${EMPTY}
    ${password}=    Controller Password
    ${reader}=    Open Event Stream    ${CONTROLLER}${path}    admin    ${password}    ${last}
    RETURN    ${reader}
