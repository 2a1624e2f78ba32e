*** Settings ***
Documentation       Ports of a node that lead to one of its pods, and limits of pods, as a runtime asks for them by CNI: two nodes with agents, and a host beyond the first.
Resource            ../resources/coeus.resource
Library             ../libraries/NorthSouth.py
Library             ../libraries/Floating.py
Library             ../libraries/Services.py
Library             ../libraries/ServicesOutside.py
Library             ../libraries/Cni.py
Library             ../libraries/Traffic.py
Library             ../libraries/HostPorts.py
Library             ../libraries/Policies.py
Suite Setup         Start Two Nodes With Agents And A Host
Suite Teardown      Run Keywords    Services.Stop Servers    AND    Stop Tellers    AND    Stop Agents    AND    Stop Lab

*** Variables ***
${MIB}              1048576
${SIZE}             3145728
${STATUS}           ${OPERATIONAL}/coeus-status:objects/object
${SERVICES}         ${CONFIG}/service:service-information/services
${WEB}              5e1f0000-0000-4000-8000-000000000032

*** Test Cases ***
A Port Of The Node Leads To The Pod
    ${ports}=    Mapped    tcp:8088:8080    udp:5300:5353    tcp:31080:8080    tcp:7000:7000
    Add By Cni    1    web    config=${ports}
    Serve    default:web
    FOR    ${port}    IN    8088    31080
        Host Should Be Answered    beyond    ${NODE 1}    ${port}    among=${WEB POD}    times=4
    END
    Host Should Be Answered    beyond    ${NODE 1}    5300    UDP    among=${WEB POD}    times=4
    Call By Cni    CHECK    default:web    config=${ports}

The Pod Sees Who Asks
    Host Should Be Answered    beyond    ${NODE 1}    7000    among=${{[$BEYOND]}}    times=2

From Pods Of Every Node And Namespace
    FOR    ${pod}    IN    default:near    default:far    red:other
        Service Should Answer    ${pod}    ${NODE 1}    8088    among=${WEB POD}    times=4
        Service Should Answer    ${pod}    ${NODE 1}    5300    UDP    among=${WEB POD}    times=4
    END

From The Node And From The Pod Itself
    Node Should Be Answered    1    ${NODE 1}    8088    ${WEB POD}
    Service Should Answer    default:web    ${NODE 1}    8088    among=${WEB POD}    times=4

Another Node Has No Such Port
    Host Should Get No Answer    beyond    ${NODE 2}    8088
    Service Should Be Silent    default:near    ${NODE 2}    8088

What Is No Host Port Is The Node's
    Start Server On Node    1    9443    node1
    ${node}=    Create List    node1
    Service Should Answer    default:near    ${NODE 1}    9443    among=${node}    times=2
    Ping Should Pass    default:near    ${NODE 1}

Policies Judge Who Asks There
    ${spec}=    Evaluate    {"ingress": [{"from": [{"ipBlock": {"cidr": "${BEYOND}/32"}}]}]}
    Put Policy    web    ${spec}    namespace=default
    Host Should Be Answered    beyond    ${NODE 1}    8088    among=${WEB POD}    times=2
    Service Should Be Silent    default:far    ${NODE 1}    8088
    ${spec}=    Evaluate    {"ingress": [{"from": [{"ipBlock": {"cidr": "10.11.2.0/24"}}]}]}
    Put Policy    web    ${spec}    namespace=default
    Service Should Answer    default:far    ${NODE 1}    8088    among=${WEB POD}    times=2
    Host Should Get No Answer    beyond    ${NODE 1}    8088
    Delete Policy    web
    Host Should Be Answered    beyond    ${NODE 1}    8088    among=${WEB POD}    times=2

Much Goes Through
    ${bytes}=    Bytes Back    beyond    ${NODE 1}    8088
    Should Be Equal As Integers    ${bytes}    ${MIB}

A Port That Another Pod Has Is Refused
    ${ports}=    Mapped    tcp:8088:80
    ${answer}=    Add By Cni    1    late    config=${ports}    expected=7
    Should Contain    ${answer}[msg]    host port TCP 8088
    Should Contain    ${answer}[msg]    default:web
    ${one}=    Mapped    tcp:8088:80:${NODE 1}
    ${answer}=    Add By Cni    1    late    config=${one}    expected=7
    Should Contain    ${answer}[msg]    default:web
    So Many Are There    1    2
    Add By Cni    2    late    config=${ports}
    Delete By Cni    default:late
    Host Should Be Answered    beyond    ${NODE 1}    8088    among=${WEB POD}    times=2

And So Is A Node Port Of That Number
    ${ports}=    Create List    http:TCP:80:8080:31080
    ${body}=    Service Outside Body    ${WEB}    web    default    10.96.0.10    ${ports}
    ${answer}=    PUT On Session    coeus    ${SERVICES}/${WEB}    json=${body}    expected_status=409
    Should Contain    ${answer.text}    host port of pod
    ${ports}=    Create List    http:TCP:80:8080:31081
    ${body}=    Service Outside Body    ${WEB}    web    default    10.96.0.10    ${ports}
    PUT On Session    coeus    ${SERVICES}/${WEB}    json=${body}    expected_status=201
    ${taken}=    Mapped    tcp:31081:8080
    ${answer}=    Add By Cni    1    late    config=${taken}    expected=7
    Should Contain    ${answer}[msg]    service ${WEB} (default:web)
    DELETE On Session    coeus    ${SERVICES}/${WEB}    expected_status=200

An Address That Its Node Has Not Is Told
    Network Is    1    timeout=${2}
    ${ports}=    Mapped    tcp:8099:80:10.9.9.9
    ${answer}=    Add By Cni    1    lost    config=${ports}    expected=11
    Should Contain    ${answer}[msg]    10.9.9.9: that is no address of its node
    [Teardown]    Network Is    1

Rules Of The Kernel Come And Go With Pods And Stay Over An End Of The Agent
    Rules Should Be    1    tcp 7000    tcp 8088    tcp 31080    udp 5300
    Rules Should Be    2
    Install As On A Node    1
    Doctor Should Find All Good    1
    Kill Agent    1
    Rules Should Be    1    tcp 7000    tcp 8088    tcp 31080    udp 5300
    Drop Rule    1    tcp    8088
    Start Agent    1
    Wait Until Keyword Succeeds    15 s    0.3 s    Rules Should Be    1    tcp 7000    tcp 8088    tcp 31080    udp 5300
    Node Should Be Answered    1    ${NODE 1}    8088    ${WEB POD}

What Is Gone From The Entry Is Found
    ${ports}=    Mapped    tcp:8088:8080
    ${uid}=    Uid Of    default:web
    DELETE On Session    coeus    ${CONFIG}/pod:coe/pods/${uid}/interface/${uid}/coeus-pod:host-port/TCP/8088/any    expected_status=200
    Host Should Come To Get No Answer    beyond    ${NODE 1}    8088
    ${answer}=    Call By Cni    CHECK    default:web    config=${ports}    expected=103
    Should Contain    ${answer}[msg]    TCP,8088,any

The Rules Follow What Others Write To The Entry
    Wait Until Keyword Succeeds    15 s    0.3 s    Rules Should Be    1    tcp 7000    tcp 31080    udp 5300
    ${uid}=    Uid Of    default:web
    ${port}=    Evaluate    {"coeus-pod:host-port": [{"protocol": "TCP", "port": 8089, "address": "any", "container-port": 8080}]}
    PUT On Session    coeus    ${CONFIG}/pod:coe/pods/${uid}/interface/${uid}/coeus-pod:host-port/TCP/8089/any    json=${port}    expected_status=201
    Wait Until Keyword Succeeds    15 s    0.3 s    Rules Should Be    1    tcp 7000    tcp 8089    tcp 31080    udp 5300
    Node Should Be Answered    1    ${NODE 1}    8089    ${WEB POD}

A Port Goes With Its Pod And Comes With The Next
    Delete By Cni    default:web
    Rules Should Be    1
    Host Should Come To Get No Answer    beyond    ${NODE 1}    31080
    ${ports}=    Mapped    tcp:8088:8080    udp:5300:5353
    Add By Cni    1    web    config=${ports}
    Serve    default:web
    Host Should Be Answered    beyond    ${NODE 1}    8088    among=${WEB POD}    times=4
    Service Should Answer    default:far    ${NODE 1}    5300    UDP    among=${WEB POD}    times=4

An Entry Of Others Keeps What They Said
    [Documentation]    What ADD wrote goes with DEL, and what was there stays.
    Create Pod    k1    kuryr    1    10.11.1.40
    ${uid}=    Pod Uid    kuryr:k1
    ${said}=    Evaluate    {"coeus-pod:host-port": [{"protocol": "TCP", "port": 8091, "address": "any", "container-port": 80}]}
    ${interface}=    Set Variable    ${CONFIG}/pod:coe/pods/${uid}/interface/${uid}
    PUT On Session    coeus    ${interface}/coeus-pod:host-port/TCP/8091/any    json=${said}    expected_status=201
    ${both}=    Mapped    tcp:8091:80    tcp:8092:80    egressRate=5000000
    Add By Cni    1    k1    PORT_UUID=${uid}    namespace=kuryr    config=${both}
    Resource Should Say    ${interface}    8091    8092    5000000
    Delete By Cni    kuryr:k1
    Resource Should Say    ${interface}    8091
    Resource Should Not Say    ${interface}    8092
    Resource Should Not Say    ${interface}    5000000
    Delete Pod    k1    kuryr

The Same Of IPv6
    [Documentation]    Where the node hands over, which its own pods reach as well.
    ${pool}=    Evaluate    {"dhcp_allocation_pool:network": [{"network-id": "six", "allocation-pool": [{"subnet": "fd00:6::/64", "allocate-from": "fd00:6::10", "allocate-to": "fd00:6::ff"}]}]}
    PUT On Session    coeus    ${CONFIG}/dhcp_allocation_pool:dhcp_allocation_pool/network/six    json=${pool}    expected_status=201
    Network Is    1    namespace=six
    ${ports}=    Mapped    tcp:8086:8080    udp:8086:5353    tcp:8087:8080:::
    Add By Cni    1    s1    config=${ports}
    Add By Cni    1    s2
    ${own}=    Create List    default:s1
    Start Server    default:s1    TCP    8080    v6
    Start Server    default:s1    UDP    5353    v6
    Start Server    default:s1    TCP    8080
    FOR    ${port}    IN    8086    8087
        Service Should Answer    default:s2    fd77:c0e5::3    ${port}    among=${own}    times=3
    END
    Service Should Answer    default:s2    fd77:c0e5::3    8086    UDP    among=${own}    times=3
    Service Should Answer    default:s2    ${NODE 1}    8086    among=${own}    times=3
    FOR    ${address}    IN    ${NODE 1}    169.254.77.3
        Service Should Be Silent    default:s2    ${address}    8087
    END
    Delete By Cni    default:s1
    Delete By Cni    default:s2
    [Teardown]    Network Is    1

A Restart Sends Nothing
    Stop Controller
    Start Controller
    Host Should Be Answered    beyond    ${NODE 1}    8088    among=${WEB POD}    times=2
    Tables Should Be As From Scratch

A Limit Makes A Pod Slower
    [Documentation]    4 Mbit/s in one direction: three times as slow at least as without, and the other direction is as it was.
    ${limit}=    Mapped    egressRate=4000000    egressBurst=2147483647
    Add By Cni    1    slow    config=${limit}
    ${meters}=    Meters Of    1
    Length Should Be    ${meters}    1
    Carried In    default:slow    default:far    limited
    Carried In    default:far    default:slow    free
    Call By Cni    CHECK    default:slow    config=${limit}
    Delete By Cni    default:slow
    ${limit}=    Mapped    ingressRate=4000000    ingressBurst=1000000
    Add By Cni    2    slow    config=${limit}
    Carried In    default:near    default:slow    limited
    Carried In    default:slow    default:near    free
    Delete By Cni    default:slow
    ${meters}=    Meters Of    2
    Length Should Be    ${meters}    0

After All That Nothing Is Left
    FOR    ${pod}    IN    default:web    default:near    default:far    red:other
        Delete By Cni    ${pod}
    END
    Nothing Should Be Left    1
    Nothing Should Be Left    2
    FOR    ${node}    IN    1    2
        ${left}=    Flows Naming    ${node}    ${NODE 1},tp_dst
        Should Be Empty    ${left}
    END
    Tables Should Be As From Scratch

*** Keywords ***
Start Two Nodes With Agents And A Host
    Start Lab And Session    2
    FOR    ${node}    IN    1    2
        Announce Node    ${node}    10.11.${node}.0/24
        Start Agent    ${node}
        Network Is    ${node}
    END
    Add By Cni    1    near
    Add By Cni    2    far
    Add By Cni    2    other    namespace=red    config=${{ {"pods": "own"} }}
    FOR    ${node}    IN    1    2
        Route Pods Of Node    ${node}    10.11.${node}.0/24
        Hand Over Node Ports    ${node}
        ${address}=    Node Address    ${node}
        Set Suite Variable    ${NODE ${node}}    ${address}
    END
    ${address}=    Connect Beyond    1    beyond
    Set Suite Variable    ${BEYOND}    ${address}
    ${names}=    Create List    default:web
    Set Suite Variable    ${WEB POD}    ${names}

Serve
    [Arguments]    ${pod}
    Services.Stop Servers
    Start Server    ${pod}    TCP    8080
    Start Server    ${pod}    UDP    5353
    Start Server That Tells Sources    ${pod}    7000

Uid Of
    [Arguments]    ${pod}
    ${state}=    Resource Should Exist    ${STATUS}/${pod}
    RETURN    ${state}[coeus-status:object][0][pod-uid]

Host Should Come To Get No Answer
    [Arguments]    ${host}    ${address}    ${port}
    Wait Until Keyword Succeeds    10 s    300 ms    Host Should Get No Answer    ${host}    ${address}    ${port}

Carried In
    [Documentation]    Three MiB at 4 Mbit/s take five seconds; without a limit the two nodes carry them in a fraction of one.
    [Arguments]    ${source}    ${target}    ${how}
    ${free}=    Seconds To Carry    default:near    default:far    ${SIZE}
    ${took}=    Seconds To Carry    ${source}    ${target}    ${SIZE}
    IF    "${how}" == "limited"
        Should Be True    ${took} > 3 * ${free}
    ELSE
        Should Be True    ${took} < 4 * ${free} + 1
    END
